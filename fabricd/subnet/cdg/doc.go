// Package cdg keeps channel dependency graphs acyclic while dependencies come and go: the check for
// closed cycles in step 2.2 of LASH (Lysne, Skeie, Reinemo, Theiss: Layered Routing in Irregular
// Networks, section 5.1), done for one dependency at a time and not over the whole graph.
//
//	turns := cdg.NewTurns(channels, next) // the dependencies that there can be
//	layer := cdg.NewLayer(turns)          // those that there are in one layer: none yet
//	ok := layer.AddPath(path)             // all of a path or nothing
//
// What a layer refuses it refuses until something is taken out of it again, and it remembers that.
package cdg
