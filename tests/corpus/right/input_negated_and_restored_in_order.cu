//!tilelab block=(16,16) grid=(1, ceil(Width/16))
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int row = blockIdx.y * 16 + threadIdx.y;
    if (row < Width)
        for (int k = threadIdx.x; k < Width; k += 16) M[row * Width + k] = -M[row * Width + k];
    __syncthreads();
    if (row < Width)
        for (int col = threadIdx.x; col < Width; col += 16) {
            float sum = 0;
            for (int k = 0; k < Width; ++k) sum -= M[row * Width + k] * N[k * Width + col];
            P[row * Width + col] = sum;
        }
    __syncthreads();
    if (row < Width)
        for (int k = threadIdx.x; k < Width; k += 16) M[row * Width + k] = -M[row * Width + k];
}
