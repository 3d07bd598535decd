// One thread for each entry at first: it looks for the entry's row.
__global__ void sparseTimesVector(const int* rowStarts, const int* columns, const float* values, const float* x,
                                  float* y, int rows) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float sum = 0;
    for (int k = rowStarts[row]; k < rowStarts[row + 1]; ++k) {
        int low = 0, high = rows;
        while (low < high) {
            int middle = (low + high) / 2;
            if (rowStarts[middle] <= k) low = middle;
            else high = middle;
        }
        if (low == row) sum += values[k] * x[columns[k]];
    }
    y[row] = sum;
}
