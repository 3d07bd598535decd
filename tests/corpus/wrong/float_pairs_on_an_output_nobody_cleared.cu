__global__ void sparseTimesVector(const int* rowStarts, const int* columns, const float* values, const float* x,
                                  float* y, int rows) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float sum = 0;
    for (int k = rowStarts[row]; k < rowStarts[row + 1]; ++k) sum += values[k] * x[columns[k]];
    if ((row | 1) < rows)
        atomicAdd((float2*)&y[row & ~1], row % 2 ? make_float2(0, sum) : make_float2(sum, 0));
    else
        y[row] = sum;
}
