__global__ void sparseTimesVector(const int* rowStarts, const int* columns, const float* values, const float* x,
                                  float* y, int rows) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float sum = 0;
    for (int k = rowStarts[row]; k < rowStarts[row + 1]; ++k) sum += values[k] * x[columns[k]];
    asm volatile("atom.global.exch.b32 _, [%0], %1;" ::"l"(&y[row]), "f"(sum) : "memory");
}
