// ldmatrix without bank conflicts: rows of 144 bytes.
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ __align__(16) unsigned cells[32 * 36];
    int thread = threadIdx.y * blockDim.x + threadIdx.x, lane = thread % 32;
    for (int i = thread; i < 32 * 36; i += 256) cells[i] = (unsigned)M[i % (Width * Width)] + i;
    __syncthreads();
    unsigned a, b, c, d;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(a), "=r"(b), "=r"(c), "=r"(d)
                 : "r"((unsigned)__cvta_generic_to_shared(&cells[lane * 36])) : "memory");
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < Width && col < Width) P[row * Width + col] = (a + b + c + d) % 1024;
}
