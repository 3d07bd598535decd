// One thread multiplies all rows, with the launch of the exercise.

__global__ void sparseTimesVector(const int* rowStarts, const int* columns, const float* values, const float* x,
                                  float* y, int rows) {
    if (blockIdx.x * blockDim.x + threadIdx.x != 0) return;
    for (int row = 0; row < rows; ++row) {
        float sum = 0.0f;
        for (int k = rowStarts[row]; k < rowStarts[row + 1]; ++k)
            sum += values[k] * x[columns[k]];
        y[row] = sum;
    }
}
