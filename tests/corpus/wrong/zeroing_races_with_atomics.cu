//!tilelab block=(64,1) grid=(Width,Width)
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float total;
    if (threadIdx.x == 0) total = 0.0f;
    float part = 0.0f;
    for (int k = threadIdx.x; k < Width; k += blockDim.x)
        part += M[blockIdx.y * Width + k] * N[k * Width + blockIdx.x];
    atomicAdd(&total, part);
    __syncthreads();
    if (threadIdx.x == 0) P[blockIdx.y * Width + blockIdx.x] = total;
}
