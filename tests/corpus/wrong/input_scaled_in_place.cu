//!tilelab block=(128,1) grid=(1,1)
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    for (int i = threadIdx.x; i < Width * Width; i += blockDim.x)
        N[i] = N[i] * 0.5f;
    __syncthreads();
    for (int e = threadIdx.x; e < Width * Width; e += blockDim.x) {
        int row = e / Width, col = e % Width;
        float sum = 0;
        for (int k = 0; k < Width; ++k)
            sum += M[row * Width + k] * N[k * Width + col];
        P[e] = 2.0f * sum;
    }
}
