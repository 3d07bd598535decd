//!tilelab block=(64) grid=(2)
__device__ unsigned int next;
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int first = blockIdx.x * 64 + threadIdx.x;
    unsigned int turn = atomicAdd(&next, 1);
    if (*(volatile unsigned int*)&next < turn) return;
    for (int at = first; at < Width * Width; at += 128) {
        float sum = 0;
        for (int k = 0; k < Width; ++k) sum += M[at / Width * Width + k] * N[k * Width + at % Width];
        P[at] = sum;
    }
}
