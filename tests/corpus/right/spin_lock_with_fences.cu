//!tilelab block=(32,2) grid=(ceil(Width/32), ceil(Width/2))
__device__ int lock[128 * 128], turn[128 * 128];
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 2;
    if (c >= Width) return;
    for (int i = 0; i < 2 && r + i < Width; ++i) {
        int at = (r + i) * Width + c;
        float part = 0;
        for (int k = threadIdx.y; k < Width; k += 2) part += M[(r + i) * Width + k] * N[k * Width + c];
        bool done = false;
        while (!done)
            if (atomicCAS(&lock[at], 0, 1) == 0) {
                __threadfence();
                P[at] = turn[at] ? P[at] + part : part;
                turn[at] ^= 1;
                __threadfence();
                atomicExch(&lock[at], 0);
                done = true;
            }
    }
}
