//!tilelab block=(64) grid=(ceil(Width/64))
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < Width) {
        for (int col = 0; col < Width; ++col) {
            float sum = 0;
            for (int j = 0; j < Width; ++j) sum += M[row * Width + j] * N[j * Width + col];
            P[row * Width + col] = sum;
        }
    }
}
