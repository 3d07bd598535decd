// The same in shared memory.
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float cell[16][16];
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= Width || col >= Width) return;
    int i = row * Width + col, next = row * Width + (col + 1) % Width;
    float* own = &cell[threadIdx.y][threadIdx.x];
    *own = M[i];
    atomicAdd(own, M[next]);
    float old = atomicAdd(own, M[i] * N[i]);
    P[i] = col % 3 == 0 ? old : *own;
}
