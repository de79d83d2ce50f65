package host

import (
	"fmt"

	"github.com/HdrHistogram/hdrhistogram-go"
)

func encodeLatency(h *hdrhistogram.Histogram) ([]byte, error) {
	data, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		return nil, fmt.Errorf("latencies: %w", err)
	}
	return data, nil
}

// DecodeLatency is the histogram in a [Counters], in nanoseconds.
func DecodeLatency(data []byte) (*hdrhistogram.Histogram, error) {
	h, err := hdrhistogram.Decode(data)
	if err != nil {
		return nil, fmt.Errorf("latencies: %w", err)
	}
	return h, nil
}
