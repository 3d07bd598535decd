// y = A * x for a sparse matrix: one thread for one row.

__global__ void sparseTimesVector(const int* rowStarts, const int* columns, const float* values, const float* x,
                                  float* y, int rows) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;

    float sum = 0.0f;
    for (int k = rowStarts[row]; k < rowStarts[row + 1] - 1; ++k)
        sum += values[k] * x[columns[k]];
    y[row] = sum;
}
