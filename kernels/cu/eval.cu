// Evaluations of many tensors' multilinear extensions in one launch.
#include "products.cuh"
#include "sum.cuh"
#include "ints.cuh"

// A dense tensor as rows, and weights of the rows and of their columns.
struct eval_job {
    u64 first; // the first of its blocks
    const void *values;
    u64 width;
    const qm31 *rows, *columns;
    u64 nrows, ncolumns;
    u64 lanes; // threads next to each other in a row, four columns each
    u64 chunk; // rows of a block
};

// Adds Σ rows[i]·columns[k]·values[i, k] of a job to its four words of sums. Threads have four columns of
// some rows, whose products with the rows' weights they add up as integers.
KERNEL __launch_bounds__(128) eval_tensors(u64 *sums, u64 *box, u64 *done, const eval_job *jobs, u64 njobs)
{
    const eval_job &job = job_of(jobs, njobs, blockIdx.x);
    const u64 block = blockIdx.x - job.first, pieces = (job.ncolumns + 4 * job.lanes - 1) / (4 * job.lanes);
    const u64 column = 4 * (block % pieces * job.lanes + threadIdx.x % job.lanes);
    const u64 begin = block / pieces * job.chunk, to = min(begin + job.chunk, job.nrows);
    qm31 sum = qm31_zero();
    if (column < job.ncolumns) {
        i64 acc[4][4] = {};
        add_rows(acc, job.values, job.width, job.rows, begin + threadIdx.x / job.lanes, to, blockDim.x / job.lanes, job.ncolumns, column);
        for (u32 i = 0; i < 4 && column + i < job.ncolumns; i++) {
            qm31 v = {m31_from_i64(acc[i][0]), m31_from_i64(acc[i][1]), m31_from_i64(acc[i][2]), m31_from_i64(acc[i][3])};
            sum = qm31_add(sum, qm31_mul(v, job.columns[column + i]));
        }
    }
    block_sums<1>(sums + 4 * (&job - jobs), {sum});
    result_buffer{box, done}.send(sums, 4 * njobs);
}
