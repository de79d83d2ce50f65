// Package harness starts a live fabric inside go test, for authors of switch firmware: the same
// pipeline, links and drivers as fabricd runs, with calls to cut things, send packets and state
// what must hold.
//
//	h := harness.New(t, "kary-ntree:4,3", harness.Firmware(myFirmware{}), harness.Traffic("uniform:0.2"))
//	h.Cut("s1.00", "s2.00")
//	h.RequireDelivered(h.Send("n100", "n000"))
//	h.RequireLedger(harness.NoneDiscarded)
//
// TestFirstFirmware in example_test.go is a whole first test.
//
// # Faults
//
// Links are cut, signalled or silently, flap, and lose, delay or slow what they carry, in both
// directions or one; switches crash. A call does one thing and fails the test when there is nothing
// to do; Apply does several at one instant:
//
//	h.CutSilently("s1.00", "s2.00", harness.OneWay, harness.For(time.Second))
//	h.Impair("s1.00", "s2.01", fault.Impair{Loss: new(fault.Percent(10))})
//	h.Apply(fault.Spec{Do: fault.VerbCut, A: "s0.00-s1.00"}, fault.Spec{Do: fault.VerbCrash, A: "s0.01"})
//	h.Heal()
//
// Faults returns what each has cost. Packets that a link loses by its impairment, or silently, are
// lost on the wire.
//
// # Failures
//
// A failure prints the path of the packet, switch by switch with ports, virtual channels and the
// rule that fired, and the command that runs the test again with the same random draws:
//
//	packet was not delivered
//	packet n100 -> n000 #0: discarded at s1.00 by rule "2: the down link is dead"
//	  s2.10    in p0 vc0, out p4 vc0 to s1.10     1: up
//	  ...
//	run it again: go test -run '^TestMine$' -count=1 -weft.seed=8128
//
// When the firmware panics in Route, the packet is discarded and the test fails: what is printed
// says which switch, which port and which packet, where in the firmware, and the seed.
//
// RequirePath states which switches the packets of a flow take, RequireInOrder that they arrive in
// order:
//
//	h.Send("n100", "n000")
//	h.RequirePath("n100", "n000", "s2.10", "s1.10", "s0.00", "s1.00", "s2.00")
//	h.RequireInOrder("n100", "n000")
//
// # Programs
//
// Programs of the test talk through the fabric, over TCP and UDP. They need no rights and no
// kernel:
//
//	l := h.Listen("n111", "tcp", ":80")
//	c := h.Dial("n000", "tcp", "n111:80")
//	client := http.Client{Transport: &http.Transport{DialContext: h.Net("n001").DialContext}}
//
// A NIC holds back whoever sends more than the fabric takes. What a fault loses, TCP sends again.
//
// # Virtual time
//
// With Virtual the fabric runs by its own clock, as fast as the machine can, and the same seed
// is the same run, event for event. Time goes on only while a call waits; all durations are
// virtual. Seeds runs a test so for many seeds, on all cores:
//
//	harness.Seeds(t, 1000, "kary-ntree:2,3", func(h *harness.Harness) {
//		h.Pause(10 * time.Millisecond)
//		h.Cut("s0.00", "s1.00")
//		h.RequireLedger(harness.NoneDiscarded)
//	}, harness.Firmware(myFirmware{}), harness.Traffic("uniform:0.5"))
//
// A thousand of these take about a second. docs/explanation/virtual.md says what differs from live.
//
// # What is the same each time
//
// Live, the seed fixes what is injected, where and when by the fabric's clock, and every choice
// left to chance. It does not fix in which order goroutines run: two runs see the same traffic, not
// the same queues. State what must hold in any order.
//
// # Limits
//
// Live, time is real and the machine is shared with other tests, so the harness offers nothing to
// assert a duration with. Nothing moves by the clock either, except what the firmware's registers
// do when they expire: wait for it with Eventually. Virtual has no broker, and so no Transport.
package harness
