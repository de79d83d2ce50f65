// Package jobs runs package work's jobs on many machines. An [Order] is a command line with the
// files that it reads; the broker keeps it, the queue of its pieces and their results. What does
// the rest:
//
//	Engine  gives an order, hands out pieces and merges results: for whoever gave the order, for
//	        anybody who wants its results, and for a worker that stands in for who has gone
//	Worker  takes batches of pieces, cuts them by what they cost, and has children compute them
//	child   a process of the same program that runs the order's command in a folder with its
//	        files, and answers with the results of single pieces
//
// A piece's result is written once, under its key. Nothing that a process keeps to itself is needed
// to go on: any number of engines may look at an order at once, come and go.
//
// Keys on the broker, of an order ID:
//
//	order.ID           the Order
//	at.ID.lead         who hands out its pieces; written again and again while it is there
//	at.ID.stage.N      what the N-th job of the command has, see [Stage]
//	at.ID.host.WORKER  what a worker has done of it, see [Share]
//	got.ID.KEY         the result of a piece
//	got.ID.KEY.aside   a piece without a result, and why, see [Aside]
//	worker.NAME        a worker that is there, see [Status]
package jobs
