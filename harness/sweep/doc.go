// Package sweep runs experiments: many runs of package measure, of networks that differ along named
// axes (load, faults, routing, topology, ...), each with several samples; and makes of them tables,
// plots and a comparison with what a paper says.
//
// An experiment is a YAML file ([File]). [Read] checks all of it, every network that it asks for
// included, before anything runs. [Experiment.Run] runs what is not yet done and writes a folder:
// runs.csv with a row for each run, summary.csv with a row for each point, plots as SVG and PNG,
// comparison.md, README.md. [Experiment.Settle] makes runs in stages, until each statement of the
// checks is decided. A run draws its faults, or judges all sets of them ([Settings], every_set).
// [Publish] writes a page of what several experiments have shown, and keeps their runs beside it;
// [Restore] puts these where they can be gone on from.
//
// # Reproducible
//
// Everything that is written is a function of the experiment file, the number of samples and the
// program: it does not depend on the number of workers, on the order in which runs end, or on
// interruptions. A run's seed is a hash of the experiment's seed, the number of the sample, and
// what is done to the network: topology, traffic, the kind of faults and whether they come before.
// It does not depend on what is compared: routing, load, buffers, delays and the number of faults.
// So all routings are measured with the same packets wanted at the same moments and with the same
// faults (common random numbers), which makes their differences sharper than either of them, and
// points that are added to an axis change no other.
//
// # Resumable
//
// Each run that ends is written to a journal in the folder. A second start with the same experiment
// file repeats none of them, whether the first ended, was interrupted, was killed, or found the
// disk full; nor does one with more samples or more points.
package sweep
