//!tilelab block=(64,32) grid=(ceil(Width/64), ceil(Width/32))
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int row = blockIdx.y * 32 + threadIdx.y;
    int col = blockIdx.x * 64 + threadIdx.x;
    if (row < Width && col < Width) {
        float sum = 0;
        for (int k = 0; k < Width; ++k) sum += M[row * Width + k] * N[k * Width + col];
        P[row * Width + col] = sum;
    }
}
