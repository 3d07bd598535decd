//!tilelab block=(64,1) grid=(Width,1)
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float column[128];
    int col = blockIdx.x;
    for (int k = threadIdx.x; k < Width / 2; k += blockDim.x)
        column[k] = N[k * Width + col];
    __syncthreads();
    for (int row = threadIdx.x; row < Width; row += blockDim.x) {
        float sum = 0.0f;
        for (int k = 0; k < Width; ++k)
            sum += M[row * Width + k] * column[k];
        P[row * Width + col] = sum;
    }
}
