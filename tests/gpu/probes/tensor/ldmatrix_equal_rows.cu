// ldmatrix whose 32 rows are one, and one whose rows come in pairs.
__device__ unsigned loaded(const unsigned* row)
{
    unsigned a, b, c, d;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"((unsigned)__cvta_generic_to_shared(row)) : "memory");
    return a + b + c + d;
}

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ __align__(16) unsigned cells[32 * 4];
    int thread = threadIdx.y * blockDim.x + threadIdx.x, lane = thread % 32;
    if (thread < 128) cells[thread] = (unsigned)M[thread % (Width * Width)] + thread;
    __syncthreads();
    unsigned sum = loaded(cells) + loaded(&cells[lane / 2 * 4]);
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < Width && col < Width) P[row * Width + col] = sum % 1024;
}
