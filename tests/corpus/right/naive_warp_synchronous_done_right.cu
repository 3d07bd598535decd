//!tilelab block=(64,1) grid=(Width,Width)
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ volatile float sdata[64];
    int tid = threadIdx.x;
    float acc = 0;
    for (int k = tid; k < Width; k += 64)
        acc += M[blockIdx.y * Width + k] * N[k * Width + blockIdx.x];
    sdata[tid] = acc;
    __syncthreads();
    if (tid < 32) {
        float v = sdata[tid] + sdata[tid + 32];
        for (int step = 16; step > 0; step /= 2) {
            sdata[tid] = v;
            __syncwarp();
            v += tid < step ? sdata[tid + step] : 0.0f;
            __syncwarp();
        }
        if (tid == 0) P[blockIdx.y * Width + blockIdx.x] = v;
    }
}
