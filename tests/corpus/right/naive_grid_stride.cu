//!tilelab block=(128,1) grid=(4,1)
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    for (int e = blockIdx.x * blockDim.x + threadIdx.x; e < Width * Width; e += gridDim.x * blockDim.x) {
        int row = e / Width, col = e % Width;
        float sum = 0;
        for (int k = 0; k < Width; ++k)
            sum += M[row * Width + k] * N[k * Width + col];
        P[e] = sum;
    }
}
