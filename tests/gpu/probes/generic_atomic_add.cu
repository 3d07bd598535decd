// Through a pointer that may lead to either memory, so that the compiler cannot know which.
__device__ __noinline__ float add(float* to, float first, float second)
{
    atomicAdd(to, first);
    return atomicAdd(to, second);
}

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float cell[16][16];
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= Width || col >= Width) return;
    int i = row * Width + col, next = row * Width + (col + 1) % Width;
    bool shared = (row / 2 + col) % 2;
    float* own = &cell[threadIdx.y][threadIdx.x];
    *own = M[i];
    P[i] = M[i];
    float old = add(shared ? own : P + i, M[next], M[i] * N[i]);
    if (col % 3 == 0) P[i] = old;
    else if (shared) P[i] = *own;
}
