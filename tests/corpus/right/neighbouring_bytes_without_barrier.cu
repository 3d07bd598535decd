__device__ bool marked[256][16][16];
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ char sign[16][16];
    int tx = threadIdx.x, ty = threadIdx.y, c = blockIdx.x * 16 + tx, r = blockIdx.y * 16 + ty;
    volatile bool* mine = &marked[blockIdx.y * gridDim.x + blockIdx.x][ty][tx];
    *mine = c < Width && r < Width;
    volatile char* own = &sign[ty][tx];
    float sum = 0;
    for (int k = 0; *mine && k < Width; ++k) {
        *own = M[r * Width + k] < 0 ? -1 : 1;
        sum += *own * fabsf(M[r * Width + k]) * N[k * Width + c];
    }
    if (*mine) P[r * Width + c] = sum;
}
