//!tilelab block=(32,4) grid=(Width, Width)
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float total;
    int lane = threadIdx.y * 32 + threadIdx.x;
    if (lane == 0) total = 0.0f;
    __syncthreads();
    for (int k = lane; k < Width; k += 128)
        total += M[blockIdx.y * Width + k] * N[k * Width + blockIdx.x];
    __syncthreads();
    if (lane == 0) P[blockIdx.y * Width + blockIdx.x] = total;
}
