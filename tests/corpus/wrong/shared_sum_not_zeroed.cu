//!tilelab block=(32,1) grid=(Width,Width)
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float total;
    float mine = 0;
    for (int k = threadIdx.x; k < Width; k += blockDim.x)
        mine += M[blockIdx.y * Width + k] * N[k * Width + blockIdx.x];
    atomicAdd(&total, mine);
    __syncthreads();
    if (threadIdx.x == 0)
        P[blockIdx.y * Width + blockIdx.x] = total;
}
