//!tilelab block=(8,16) grid=(ceil(Width/8), ceil(Width/16))
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float B[2][8][8];
    int tx = threadIdx.x, ty = threadIdx.y % 8, half = threadIdx.y / 8;
    int r = blockIdx.y * 16 + threadIdx.y, c = blockIdx.x * 8 + tx;
    float v = 0;
    for (int k0 = 0; k0 < Width; k0 += 8) {
        B[half][ty][tx] = (c < Width && k0 + ty < Width) ? N[(k0 + ty) * Width + c] : 0.0f;
        asm volatile("bar.sync %0, 64;" ::"r"(half + 1) : "memory");
        for (int k = 0; k < 8 && k0 + k < Width; ++k)
            if (r < Width) v += M[r * Width + k0 + k] * B[half][k][tx];
        asm volatile("bar.sync %0, 64;" ::"r"(half + 1) : "memory");
    }
    if (r < Width && c < Width) P[r * Width + c] = v;
}
