// ldmatrix from rows of 128 bytes (all in the same banks), of 144 bytes (in different ones), and with equal rows.
__device__ unsigned loaded(const unsigned* row)
{
    unsigned a, b, c, d;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"((unsigned)__cvta_generic_to_shared(row)) : "memory");
    return a + b + c + d;
}

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ __align__(16) unsigned cells[32 * 36];
    int thread = threadIdx.y * blockDim.x + threadIdx.x, lane = thread % 32;
    for (int i = thread; i < 32 * 36; i += 256) cells[i] = (unsigned)M[i % (Width * Width)] + i;
    __syncthreads();
    unsigned sum = loaded(&cells[lane * 32]);
    for (int i = 0; i < 3; ++i) sum += loaded(&cells[lane * 36]);
    for (int i = 0; i < 5; ++i) sum += loaded(&cells[lane / 2 * 32]);
    for (int i = 0; i < 7; ++i) sum += loaded(cells);
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < Width && col < Width) P[row * Width + col] = sum % 1024;
}
