//!tilelab block=(32,2) grid=(Width, ceil(Width/2))
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ double s[2][32];
    int lane = threadIdx.x, row = blockIdx.y * 2 + threadIdx.y;
    double sum = 0;
    for (int k = lane; k < Width; k += 32)
        if (row < Width) sum += M[row * Width + k] * N[k * Width + blockIdx.x];
    s[threadIdx.y][lane] = sum;
    __syncwarp(lane % 2 ? 0xaaaaaaaa : 0x55555555);
    sum += s[threadIdx.y][lane ^ 1];
    for (int step = 2; step < 32; step *= 2) sum += __shfl_xor_sync(0xffffffff, sum, step);
    if (lane == 0 && row < Width) P[row * Width + blockIdx.x] = (float)sum;
}
