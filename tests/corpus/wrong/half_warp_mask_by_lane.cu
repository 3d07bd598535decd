//!tilelab block=(32,1) grid=(Width,Width)
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float s[32];
    int lane = threadIdx.x;
    float sum = 0;
    for (int k = lane; k < Width; k += 32) sum += M[blockIdx.y * Width + k] * N[k * Width + blockIdx.x];
    s[lane] = sum;
    __syncwarp(lane < 16 ? 0x0000ffff : 0xffff0000);
    if (lane < 16) sum += s[lane + 16];
    for (int step = 8; step > 0; step /= 2) sum += __shfl_down_sync(0xffffffff, sum, step);
    if (lane == 0) P[blockIdx.y * Width + blockIdx.x] = sum;
}
