// Matrices are stored row by row: element (r, c) is at elements[r * stride + c]
typedef struct {
    int width;
    int height;
    int stride;
    float* elements;
} Matrix;

__device__ float GetElement(const Matrix A, int r, int c)
{
    return A.elements[r * A.stride + c];
}

__device__ void SetElement(Matrix A, int r, int c, float value)
{
    A.elements[r * A.stride + c] = value;
}

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    Matrix a = {Width, Width, Width, M};
    Matrix b = {Width, Width, Width, N};
    Matrix c = {Width, Width, Width, P};

    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= c.height || col >= c.width) return;

    float value = 0;
    for (int e = 0; e < a.width; ++e)
        value += GetElement(a, row, e) * GetElement(b, e, col);
    SetElement(c, row, col, value);
}
