// y = A * x for a sparse matrix: one thread for one row.
//
// Check it with:  tilelab grade starter.cu --exercise sparse-matrix-vector

__global__ void sparseTimesVector(const int* rowStarts, const int* columns, const float* values, const float* x,
                                  float* y, int rows) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    // TODO: not every thread has a row.

    float sum = 0.0f;
    for (int k = rowStarts[row]; k < rowStarts[row + 1]; ++k) {
        // TODO: which element of x belongs to this entry?
        sum += values[k] * x[k];
    }
    y[row] = sum;
}
