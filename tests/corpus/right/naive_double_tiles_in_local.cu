union Word { float f; unsigned u; };
struct Pair { float a[2]; };

__device__ __noinline__ Pair load(const float* M, const float* N, int mAt, int nAt)
{
    Pair p;
    p.a[0] = M[mAt];
    p.a[1] = N[nAt];
    return p;
}

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= Width || col >= Width) return;
    bool seen[8] = {false, false, false, false, false, false, false, false};
    Word sum;
    sum.u = 0u;
    for (int k = 0; k < Width; ++k) {
        Pair p = load(M, N, row * Width + k, k * Width + col);
        seen[(k + col) & 7] = true;
        sum.f += p.a[0] * p.a[1];
    }
    P[row * Width + col] = seen[col & 7] ? sum.f : 0.0f;
}
