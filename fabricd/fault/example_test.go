package fault_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/weft-fabric/weft/fabricd/document"
	"github.com/weft-fabric/weft/fabricd/fault"
)

func ExampleSpec() {
	const file = `
do: impair
a: s0.00
b: s1.00
direction: to
for: 10s
impair: {loss: 10%, delay: 5ms, jitter: 1ms, rate: 800kbit/s}
`
	_, spec, err := document.Load[fault.Spec]("fault.yaml", []byte(file))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(spec)
	fmt.Println(spec.Validate())
	// Output:
	// impair s0.00-s1.00, s0.00 to s1.00, loss 10%, delay 5ms ± 1ms, rate 100 kB/s, for 10s
	// <nil>
}

func ExampleSpec_Validate() {
	var spec fault.Spec
	fmt.Println(json.Unmarshal([]byte(`{"do": "impair", "a": "s0-s1", "impair": {"loss": 0.1}}`), &spec))
	spec = fault.Spec{Do: fault.VerbCrash, A: "s0", Direction: fault.To, For: fault.Duration(time.Second)}
	fmt.Println(spec.Validate())
	// Output:
	// 0.1 is not a percentage: write 10%
	// crash with direction to: only a link has directions
}

func ExampleFlap_Changes() {
	f := fault.Flap{Period: fault.Duration(time.Second), Duty: new(fault.Percent(30)), Count: 2}
	next := f.Changes(nil) // nothing is drawn without jitter
	for e, ok := next(); ok; e, ok = next() {
		fmt.Println(e.At, e.Down)
	}
	// Output:
	// 0s true
	// 300ms false
	// 1s true
	// 1.3s false
}

func ExampleImpairment_Merge() {
	var i fault.Impairment
	i = i.Merge(fault.Impair{Loss: new(fault.Percent(10))})
	i = i.Merge(fault.Impair{Rate: new(fault.Rate(100_000))})
	fmt.Println(i)
	// Output: loss 10%, rate 100 kB/s
}

func ExampleMeasureDegradation() {
	second := slices.Repeat([]uint64{40}, 100) // bins of 10 ms
	bins := slices.Concat(second, make([]uint64, 12), second)
	fmt.Println(fault.MeasureDegradation(bins, 10*time.Millisecond, 100, len(bins)))
	// Output: fell by 100% of 4000 packets/s after 0 ms, made good after 120 ms
}
