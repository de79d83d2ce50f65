// Package manage is the planning half of a subnet manager: told what is dead, it says what each
// switch is to forward by from then on, and whether packets may travel while that is uploaded. What
// hears of faults and uploads is fabricd/manager.
//
//	m, err := manage.Parse("ddrc")
//	p, err := manage.New(ctx, g, "ftree", m, 1) // p.Routing() is what the switches begin with
//	plan, err := p.Plan(ctx, &dead)             // plan.Acyclic: its Rounds may be uploaded while traffic runs
//	p.Adopt(plan)                               // the switches are being told
//	p.Acknowledged()                            // all have acknowledged all rounds
//	p.Settled()                                 // the packets that travelled by older tables are gone
//
// Old and new tables are in force beside each other while an upload lasts, each switch having one
// or the other, and packets meet both. So what is checked is the channel dependency graph of all
// mixtures: each packet may be forwarded in each switch as any of the routings has it that may
// still be in force there ([layered.Transition]). It is found by following tables, and knows
// nothing of how a method came to them.
//
// Everything here is a function of its arguments: no clock, no draw and no I/O.
package manage
