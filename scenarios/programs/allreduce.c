/* Adds numbers over all ranks again and again, checks each sum, and prints how many were added in each
   second. It ends after so many seconds, 10 unless given, with exit code 1 when a sum was wrong.

   mpicc -O2 -o allreduce allreduce.c */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define WORDS 1024

int main(int argc, char **argv) {
	int rank, ranks, wrong = 0, going = 1;
	double words[WORDS], sums[WORDS];
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	double began = MPI_Wtime(), told = began, slowest = 0;
	double seconds = argc > 1 ? atof(argv[1]) : 10;
	long steps = 0, before = 0;
	while (going) {
		double start = MPI_Wtime();
		for (int i = 0; i < WORDS; i++)
			words[i] = rank + i + (double)(steps % 1000);
		MPI_Allreduce(words, sums, WORDS, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
		for (int i = 0; i < WORDS; i++)
			if (sums[i] != ranks * (i + (double)(steps % 1000)) + ranks * (ranks - 1) / 2.0)
				wrong = 1;
		steps++;
		double now = MPI_Wtime();
		if (now - start > slowest)
			slowest = now - start;
		if (rank == 0 && now - told >= 1) {
			printf("%5.1f s  %6.1f steps/s, the slowest took %.0f ms\n", now - began,
				(steps - before) / (now - told), slowest * 1000);
			fflush(stdout);
			told = now, before = steps, slowest = 0;
		}
		going = now - began < seconds; /* rank 0 says when it is over */
		MPI_Bcast(&going, 1, MPI_INT, 0, MPI_COMM_WORLD);
	}
	int any;
	MPI_Allreduce(&wrong, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
	if (rank == 0)
		printf("%ld steps on %d ranks, %s\n", steps, ranks, any ? "WRONG SUMS" : "all sums right");
	MPI_Finalize();
	return any;
}
