//!tilelab block=(32,1) grid=(Width,Width)
__device__ float parts[128 * 128][32];
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int lane = threadIdx.x;
    float* s = parts[blockIdx.y * Width + blockIdx.x];
    float sum = 0;
    for (int k = lane; k < Width; k += 32) sum += M[blockIdx.y * Width + k] * N[k * Width + blockIdx.x];
    s[lane] = sum;
    unsigned int half = lane / 16 ? 0xffff0000u : 0x0000ffffu;
    __syncwarp(half);
    if (lane == 0) {
        float all = 0;
        for (int k = 0; k < 32; ++k) all += s[k];
        P[blockIdx.y * Width + blockIdx.x] = all;
    }
}
