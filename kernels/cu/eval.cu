// Evaluations of many tensors' multilinear extensions in one launch.
#include "ints.cuh"
#include "sum.cuh"

// A dense tensor of n entries as rows, and weights of the rows and of their columns.
struct eval_job {
    u64 first, n; // the first of its blocks; entries
    const void *values;
    u64 width;
    const qm31 *rows, *columns;
    u64 row; // entries of a row
};

// Entries that a block of eval_tensors takes.
#define EVALUATED 4096

// Adds Σ_i rows[i / row]·columns[i % row]·values[i] of job k to the four words at sums + 4·k.
KERNEL __launch_bounds__(256) eval_tensors(u64 *sums, u64 *box, u64 *done, const eval_job *jobs, u64 njobs)
{
    const eval_job &job = job_of(jobs, njobs, blockIdx.x);
    const u64 begin = (blockIdx.x - job.first) * EVALUATED, end = min(begin + EVALUATED, job.n);
    u64 row = (begin + threadIdx.x) / job.row, column = (begin + threadIdx.x) % job.row;
    const u64 rows = blockDim.x / job.row, columns = blockDim.x % job.row; // to the thread's next entry
    qm31 sum = qm31_zero(), part = qm31_zero(); // part: of the row in hand, without its weight
    for (u64 i = begin + threadIdx.x; i < end;) {
        part = qm31_add(part, qm31_mul_m31(job.columns[column], m31_from_i32(entry(job.values, job.width, i))));
        u64 last = row;
        i += blockDim.x;
        row += rows;
        column += columns;
        if (column >= job.row) {
            column -= job.row;
            row++;
        }
        if (row != last || i >= end) {
            sum = qm31_add(sum, qm31_mul(part, job.rows[last]));
            part = qm31_zero();
        }
    }
    block_sums<1>(sums + 4 * (&job - jobs), {sum});
    result_buffer{box, done}.send(sums, 4 * njobs);
}
