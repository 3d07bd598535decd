//!tilelab block=(8,8,4) grid=(ceil(Width/8), ceil(Width/8))
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int c = blockIdx.x * 8 + threadIdx.x, r = blockIdx.y * 8 + threadIdx.y;
    bool in = c < Width && r < Width;
    if (in && threadIdx.z == 0) P[r * Width + c] = 0;
    __syncthreads();
    if (!in) return;
    float s = 0;
    for (int k = threadIdx.z; k < Width; k += 4) s += M[r * Width + k] * N[k * Width + c];
    atomicAdd(&P[r * Width + c], s);
}
