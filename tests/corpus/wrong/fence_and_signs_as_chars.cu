__device__ signed char sign[128 * 128];
__global__ void MatrixMulKernel(const float* M, const float* N, float* P, int Width)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
    bool in = c < Width && r < Width;
    if (in) sign[r * Width + c] = M[r * Width + c] < 0 ? -1 : 1;
    __threadfence();
    __syncthreads();
    if (!in) return;
    float s = 0;
    for (int k = 0; k < Width; ++k)
        s += sign[r * Width + k] * (fabsf(M[r * Width + k]) * N[k * Width + c]);
    P[r * Width + c] = s;
}
