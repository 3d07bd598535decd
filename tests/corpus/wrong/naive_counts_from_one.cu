__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= Width || col >= Width) return;
    float sum = 0;
    // sum over k = 1..n of m_rk * n_kc
    for (int k = 1; k <= Width; k++) {
        float n = N[k * Width + col];
        sum += M[row * Width + k - 1] * n;
    }
    P[row * Width + col] = sum;
}
