template <int T>
__device__ float tileProduct(const float (&m)[T][T], const float (&n)[T][T], int ty, int tx)
{
    float sum = 0.0f;
    #pragma unroll
    for (int k = 0; k < T; ++k) sum += m[ty][k] * n[k][tx];
    return sum;
}

template <int T>
__device__ void multiply(const float* M, const float* N, float* P, int Width)
{
    __shared__ float m[T][T], n[T][T];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * T + ty, col = blockIdx.x * T + tx;
    float sum = 0.0f;
    for (int k0 = 0; k0 < Width; k0 += T) {
        m[ty][tx] = (row < Width && k0 + tx < Width) ? M[row * Width + k0 + tx] : 0.0f;
        n[ty][tx] = (col < Width && k0 + ty < Width) ? N[(k0 + ty) * Width + col] : 0.0f;
        __syncthreads();
        sum += tileProduct<T>(m, n, ty, tx);
        __syncthreads();
    }
    if (row < Width && col < Width) P[row * Width + col] = sum;
}

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) { multiply<TILE_WIDTH>(M, N, P, Width); }
