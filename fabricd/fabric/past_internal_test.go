package fabric

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestWhatDiesWithAProcessIsWhatItHadReceivedAndNotPassedOn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		through []passage
		ended   uint64
		died    uint64
		after   []passage
	}{
		{
			"nothing inside",
			[]passage{{received: 5, sent: 3}, {received: 3, sent: 5}},
			0,
			0,
			[]passage{{received: 5, sent: 3}, {received: 3, sent: 5}},
		},
		{
			"what it had discarded or lost before did not die with it",
			[]passage{{received: 9, doubtful: 2}, {sent: 4}},
			3,
			2,
			[]passage{{received: 9, doubtful: 2}, {sent: 4}},
		},
		{
			"some that seemed to be lost on the way had come",
			[]passage{{received: 1, doubtful: 2}, {doubtful: 3, sent: 4}},
			0,
			0,
			[]passage{{received: 3}, {doubtful: 2, received: 1, sent: 4}},
		},
		{
			"its neighbours know better than arithmetic",
			[]passage{{received: 1, sent: 4}},
			0,
			0,
			[]passage{{received: 1, sent: 4}},
		},
	} {
		assert.Equal(t, c.died, died(c.through, c.ended), c.name)
		assert.Equal(t, c.after, c.through, c.name)
	}
}
