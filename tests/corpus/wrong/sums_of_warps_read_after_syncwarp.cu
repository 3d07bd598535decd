//!tilelab block=(128,1) grid=(Width,Width)
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float sums[4];
    int t = threadIdx.x;
    float s = 0;
    for (int k = t; k < Width; k += 128) s += M[blockIdx.y * Width + k] * N[k * Width + blockIdx.x];
    for (int step = 16; step > 0; step /= 2) s += __shfl_down_sync(0xffffffff, s, step);
    if (t % 32 == 0) sums[t / 32] = s;
    __syncwarp();
    if (t < 4) {
        float all = 0;
        for (int w = 0; w < 4; ++w) all += sums[w];
        if (t == 0) P[blockIdx.y * Width + blockIdx.x] = all;
    }
}
