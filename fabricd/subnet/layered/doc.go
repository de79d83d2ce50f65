// Package layered computes routes for topologies of any shape: the engines of Lysne, Skeie,
// Reinemo, Theiss: Layered Routing in Irregular Networks, and those that it compares with.
//
// An engine takes a graph and gives a [Routing]: the routing function R as forwarding tables, the
// layering L (layer i is virtual channel i), and the traffic and address assignments T and A.
// Engines are pure: the same graph, options and seed give the same routing. One whose context ends
// gives none, and an error that wraps the cause.
package layered
