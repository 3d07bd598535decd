__global__ void sparseTimesVector(const int* rowStarts, const int* columns, const float* values, const float* x,
                                  float* y, int rows) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float sum = 0;
    for (int k = rowStarts[row]; k < rowStarts[row + 1]; ++k) sum += values[k] * x[columns[k]];
    float before = atomicExch(&y[row], sum);
    if (before != 0) y[row] = sum + before;
}
