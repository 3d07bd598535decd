//!tilelab block=(64,1) grid=(Width,Width)
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ volatile float sdata[64];
    unsigned tid = threadIdx.x;
    float acc = 0;
    for (int k = tid; k < Width; k += 64)
        acc += M[blockIdx.y * Width + k] * N[k * Width + blockIdx.x];
    sdata[tid] = acc;
    __syncthreads();
    if (tid < 32) {
        sdata[tid] += sdata[tid + 32];
        sdata[tid] += sdata[tid + 16];
        sdata[tid] += sdata[tid + 8];
        sdata[tid] += sdata[tid + 4];
        sdata[tid] += sdata[tid + 2];
        sdata[tid] += sdata[tid + 1];
    }
    if (tid == 0) P[blockIdx.y * Width + blockIdx.x] = sdata[0];
}
