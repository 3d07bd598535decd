__device__ size_t rotated(size_t number, size_t count) {
    return count == 0 ? 0 : (number + RAND_MAX % count) % count;
}

__global__ void sparseTimesVector(const int* rowStarts, const int* columns, const float* values, const float* x,
                                  float* y, int rows) {
    size_t thread = blockIdx.x * blockDim.x + threadIdx.x;
    if (thread >= (size_t)rows) return;
    ptrdiff_t row = rotated(thread, rows);
    float sum = 0;
    for (ptrdiff_t k = rowStarts[row]; k < rowStarts[row + 1]; ++k) sum += values[k] * x[columns[k]];
    y[row] = sum;
}
