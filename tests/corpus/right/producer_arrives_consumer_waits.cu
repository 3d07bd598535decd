//!tilelab block=(32,2) grid=(ceil(Width/32), Width)
#define SYNC(name) asm volatile("bar.sync %0, 64;" ::"r"(name) : "memory")
#define ARRIVE(name) asm volatile("bar.arrive %0, 64;" ::"r"(name) : "memory")
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float buffer[2][32];
    int lane = threadIdx.x, row = blockIdx.y, col = blockIdx.x * 32 + lane, steps = (Width + 31) / 32;
    if (threadIdx.y == 0) {
        for (int s = 0; s < steps; ++s) {
            SYNC(1 + s % 2);
            buffer[s % 2][lane] = s * 32 + lane < Width ? M[row * Width + s * 32 + lane] : 0.0f;
            ARRIVE(3 + s % 2);
        }
        return;
    }
    float sum = 0;
    for (int b = 0; b < 2 && b < steps; ++b) ARRIVE(1 + b);
    for (int s = 0; s < steps; ++s) {
        SYNC(3 + s % 2);
        for (int k = 0; k < 32 && s * 32 + k < Width; ++k)
            if (col < Width) sum += buffer[s % 2][k] * N[(s * 32 + k) * Width + col];
        if (s + 2 < steps) ARRIVE(1 + s % 2);
    }
    if (col < Width) P[row * Width + col] = sum;
}
