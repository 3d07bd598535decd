// stmatrix to rows of 128 bytes, which are all in the same banks.
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ __align__(16) unsigned cells[8][32 * 32];
    int thread = threadIdx.y * blockDim.x + threadIdx.x, lane = thread % 32;
    unsigned* own = cells[thread / 32];
    for (int i = lane; i < 32 * 32; i += 32) own[i] = i;
    __syncwarp();
    unsigned place = (unsigned)__cvta_generic_to_shared(&own[lane * 32]);
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %1, %1, %1};" ::"r"(place), "r"(lane) : "memory");
    __syncwarp();
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < Width && col < Width) P[row * Width + col] = own[lane * 32 + lane % 4] % 1024;
}
