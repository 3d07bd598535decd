__constant__ const float* vector;

__global__ void sparseTimesVector(const int* rowStarts, const int* columns, const float* values, const float* x,
                                  float* y, int rows) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float sum = 0;
    for (int k = rowStarts[row]; k < rowStarts[row + 1]; ++k) sum += values[k] * vector[columns[k]];
    y[row] = sum;
}
