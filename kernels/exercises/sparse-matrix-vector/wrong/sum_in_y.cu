// y = A * x for a sparse matrix: one thread for one row.

__global__ void sparseTimesVector(const int* rowStarts, const int* columns, const float* values, const float* x,
                                  float* y, int rows) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;

    for (int k = rowStarts[row]; k < rowStarts[row + 1]; ++k)
        y[row] += values[k] * x[columns[k]];
}
